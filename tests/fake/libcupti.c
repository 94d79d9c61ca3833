int fake_nothing_yet;
