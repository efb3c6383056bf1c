print("BLEStreams")
