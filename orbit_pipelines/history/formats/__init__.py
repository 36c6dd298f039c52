"""One module per export format, all yielding the stream of orbit_pipelines.history.stream."""
