"""The nouns, the ports and the search: floor one, which imports nothing of ours.

`ports` holds the seams, `requests` what factories of parts are given, and `errors` the exceptions.
`text`, `files`, `databases`, `statistics` and `wrong_values` are small helpers. From the bottom up:
`options` says what a run may be asked for, `domain` has the nouns, `search` decides what to try
next and knows no kernel, `microtool` says what a tool is and sees, `knowledge` is what this run and
others have learned, `library` is where a model may look things up, `journal` turns a run into
events and back, `loop` asks, proposes, evaluates, advises and tells, `attribution` takes methods
out again to see what each was worth, and `testing` has the tests that every part must pass.
"""
