// `import BLERadio` is all that the author of a backend needs: the values come with the seam.
@_exported public import BLEProtocol
