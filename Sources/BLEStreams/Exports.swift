// `import BLEStreams` is all that a program needs: the values and the seam come with it.
@_exported public import BLEProtocol
@_exported public import BLERadio
