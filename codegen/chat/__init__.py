"""The conversation with a model: messages, the client, its cache and tapes, prices, faults."""
