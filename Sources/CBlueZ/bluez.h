// Exists so that the package manager asks pkg-config for `bluez` and links libbluetooth.
// The headers themselves are included by CBluetooth, which wraps their macros.
