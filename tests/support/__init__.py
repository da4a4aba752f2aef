"""Helpers of the Python tests. ./test adds tests/ to the path, so tests import
`support`; to run one alone: PYTHONPATH=tests python3 tests/cli/run_test.py."""
