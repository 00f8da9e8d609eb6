"""Where training starts from judged runs: data, rewards, and what trainers call."""
