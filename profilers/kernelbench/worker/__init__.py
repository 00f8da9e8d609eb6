"""The process that holds one candidate. Untrusted from the moment the candidate is loaded."""
