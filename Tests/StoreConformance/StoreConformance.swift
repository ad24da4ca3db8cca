// conformance
