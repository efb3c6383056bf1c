/// The USB device of a controller, as sysfs shows it to every program.
///
/// Source: kernel, `Documentation/ABI/stable/sysfs-bus-usb`; `drivers/bluetooth/btusb.c`, which makes the adapter a
/// child of the device's interface.
struct USBDevice: Hashable {
    /// Its bus, and its number there; the number changes each time it is plugged in.
    var bus: Int
    var number: Int
    /// Its vendor and product, in hexadecimal: `0a12` and `0001`.
    var vendor: String?
    var product: String?
    /// The maker's version number: `2520` for `25.20`.
    var version: String?

    /// How a controller that is not a USB device is connected.
    struct OtherBus: Error, Hashable {
        /// `serial`, `sdio`, `pci`; `nil` for a virtual controller, which a program has made.
        var name: String?
        /// Its name in sysfs on that bus, and its driver.
        var device: String?
        var driver: String?
    }

    /// The file through which it is reset. Source: kernel, `Documentation/driver-api/usb/usb.rst`.
    var node: String { "/dev/bus/usb/\(Self.padded(bus))/\(Self.padded(number))" }

    /// The device of the adapter with this name.
    ///
    /// - Parameter sysfs: the path of sysfs.
    static func find(
        _ adapter: String,
        sysfs: String = "/sys",
        of kernel: Kernel = .ofThisMachine
    ) throws(OtherBus) -> USBDevice {
        let interface = "\(sysfs)/class/bluetooth/\(adapter)/device"
        let bus = lastPart(ofLink: "\(interface)/subsystem", kernel)
        // A serial line may also be connected by USB, but that USB device is not the controller.
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
