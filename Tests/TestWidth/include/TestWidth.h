// Nothing to call: what there is happens when the tests are loaded.
