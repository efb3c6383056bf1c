// `import BLERadio` is all that a backend needs: the protocol's values come with it.
@_exported public import BLEProtocol
