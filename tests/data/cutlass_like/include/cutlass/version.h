/* Copyright (c) The Rooftree developers.
 * SPDX-License-Identifier: Apache-2.0
 * Redistribution is as the licence says.
 */
#pragma once

#define CUTLASS_MAJOR 9
#define CUTLASS_MINOR 1
#define CUTLASS_PATCH 3
