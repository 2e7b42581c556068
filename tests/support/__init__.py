"""What tests of several kinds use; see also the fixtures in conftest.py."""
