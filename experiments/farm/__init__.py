"""Workers elsewhere: evaluation jobs in a folder that the login node and the GPU nodes share."""
