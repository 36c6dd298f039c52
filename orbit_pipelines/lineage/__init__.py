"""The record of every build: its mirror for analysts, replay, and the story of one message."""
