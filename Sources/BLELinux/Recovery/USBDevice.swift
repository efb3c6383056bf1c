/// The USB device that a controller is, as sysfs shows it to everybody.
///
/// Source: kernel, `Documentation/ABI/stable/sysfs-bus-usb`; `drivers/bluetooth/btusb.c`, which makes the adapter a child of the
/// device's interface.
struct USBDevice: Hashable {
    /// Its bus, and its number there; another one each time that it is plugged in.
    var bus: Int
    var number: Int
    /// What it is, in hexadecimal: `0a12` and `0001`.
    var vendor: String?
    var product: String?
    /// The number that its maker gives to the version, as in `25.20`: `2520`.
    var version: String?

    /// How a controller is connected that is no USB device.
    struct OtherBus: Error, Hashable {
        /// `serial`, `sdio`, `pci`; `nil` for one that a program has made (a virtual one).
        var name: String?
        /// What sysfs calls it on that bus, and its driver.
        var device: String?
        var driver: String?
    }

    /// The file through which it is reset. Source: kernel, `Documentation/driver-api/usb/usb.rst`.
    var node: String { "/dev/bus/usb/\(Self.padded(bus))/\(Self.padded(number))" }

    /// The device of the adapter with this name.
    ///
    /// - Parameter sysfs: where that is.
    static func find(
        _ adapter: String,
        sysfs: String = "/sys",
        of kernel: Kernel = .ofThisMachine
    ) throws(OtherBus) -> USBDevice {
        let interface = "\(sysfs)/class/bluetooth/\(adapter)/device"
        let bus = lastPart(ofLink: "\(interface)/subsystem", kernel)
        // A serial line may be behind USB too: that is not the controller's own.
        guard bus == "usb", let busNumber = number("\(interface)/../busnum", kernel),
            let deviceNumber = number("\(interface)/../devnum", kernel)
        else {
            let driver = lastPart(ofLink: "\(interface)/driver", kernel)
            throw OtherBus(name: bus, device: lastPart(ofLink: interface, kernel), driver: driver)
        }
        return USBDevice(
            bus: busNumber,
            number: deviceNumber,
            vendor: textFile("\(interface)/../idVendor", of: kernel),
            product: textFile("\(interface)/../idProduct", of: kernel),
            version: textFile("\(interface)/../bcdDevice", of: kernel)
        )
    }

    private static func number(_ path: String, _ kernel: Kernel) -> Int? {
        textFile(path, of: kernel).flatMap { Int($0) }.flatMap { (1...999).contains($0) ? $0 : nil }
    }

    private static func lastPart(ofLink path: String, _ kernel: Kernel) -> String? {
        destination(ofLink: path, of: kernel)?.split(separator: "/").last.map(String.init)
    }

    private static func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 3 - digits.count)) + digits
    }
}
