// `import BLEDevices` is all that a program needs: links, streams and flows come with it.
@_exported public import BLEStreams
