// How a test waits for what a radio and a link tell is the same in the contract of all radios and here.
@_exported import RadioContract
