"""What the Python tests share. They find it as `support`, since ./test puts
tests/ on their path; alone: PYTHONPATH=tests python3 tests/cli/run_test.py."""
