"""The process of one worker: an event loop around `runtime.Worker`, its control connection, and how it comes to its topology."""
