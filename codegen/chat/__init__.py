"""The client of a language model: messages, retries, the cache, cassettes, prices."""
