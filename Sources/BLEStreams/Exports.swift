// `import BLEStreams` is all that a program needs: the values come with it, the seam to the radio does not.
@_exported public import BLEProtocol
