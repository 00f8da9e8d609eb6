"""What a micro-tool is and what it sees; the tools themselves are in `microtools`."""
