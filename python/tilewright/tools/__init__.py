"""What works on plans and programs beside the compiler."""
