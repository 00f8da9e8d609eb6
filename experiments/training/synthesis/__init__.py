"""Tasks to train on, made of operators: KernelBench problem files that are in no benchmark."""
