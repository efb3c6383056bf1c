/// BlueZ's daemon, as far as it matters to who shares the kernel's Bluetooth with it.
enum Bluetoothd {
    /// Whether one runs where this program can see it. It gives the kernel the keys of its own bonds, in a list that
    /// only one program can set.
    static var isRunning: Bool {
        namesInFolder("/proc").contains { name in
            name.allSatisfy(\.isNumber) && textFile("/proc/\(name)/comm") == "bluetoothd"
        }
    }
}
