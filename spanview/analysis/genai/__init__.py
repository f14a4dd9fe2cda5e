"""Calls of language models, as OpenTelemetry's conventions for GenAI and vLLM write them as attributes.

fields        one table of the figures, and of how each is spelled
requests      which of vLLM's calls a request of Serve has led to
conversation  what was asked and answered
"""
