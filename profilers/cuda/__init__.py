"""The evaluator of dialect `cuda`: device code and a launch plan, judged on a GPU."""
