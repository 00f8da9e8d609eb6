RADIUS = 4
WEIGHTS = (-205 / 24, 8 / 5, -1 / 5, 8 / 315, -1 / 560)


def reference(u):
    inner = slice(RADIUS, -RADIUS)
    v = WEIGHTS[0] * u[inner, inner, inner]
    for axis in range(3):
        for distance in range(1, RADIUS + 1):
            for offset in (-distance, distance):
                place = [inner, inner, inner]
                place[axis] = slice(RADIUS + offset, u.shape[axis] - RADIUS + offset)
                v += WEIGHTS[distance] * u[tuple(place)]
    return v
