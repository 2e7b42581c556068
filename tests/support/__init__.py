"""Code shared by several kinds of tests; see also the fixtures in conftest.py."""
