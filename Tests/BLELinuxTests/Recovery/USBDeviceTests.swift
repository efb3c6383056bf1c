import BLERadio
import Foundation
import Testing

@testable import BLELinux

/// Which USB device an adapter is, in a sysfs that a test has made.
@Suite struct USBDeviceTests {
    private let sysfs: String

    init() throws {
        sysfs = FileManager.default.temporaryDirectory.appendingPathComponent("sysfs-\(UUID())").path
        try folder("class/bluetooth")
    }

    private func folder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: "\(sysfs)/\(path)", withIntermediateDirectories: true)
    }

    private func link(_ path: String, to destination: String) throws {
        try FileManager.default.createSymbolicLink(atPath: "\(sysfs)/\(path)", withDestinationPath: destination)
    }

    private func file(_ path: String, _ text: String) throws {
        try Data("\(text)\n".utf8).write(to: URL(fileURLWithPath: "\(sysfs)/\(path)"))
    }

    /// An adapter whose parent is that device on that bus, as the kernel shows it.
    private func plugIn(_ device: String, bus: String, driver: String) throws {
        try folder("\(device)/bluetooth/hci0")
        try folder("bus/\(bus)/drivers/\(driver)")
        let up = String(repeating: "../", count: device.split(separator: "/").count)
        try link("\(device)/subsystem", to: "\(up)bus/\(bus)")
        try link("\(device)/driver", to: "\(up)bus/\(bus)/drivers/\(driver)")
        try link("\(device)/bluetooth/hci0/device", to: "../../../\(device.split(separator: "/").last ?? "")")
        try link("class/bluetooth/hci0", to: "../../\(device)/bluetooth/hci0")
    }

    @Test func `a dongle is the device above its interface`() throws {
        let device = "devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2.4"
        try plugIn("\(device)/1-2.4:1.0", bus: "usb", driver: "btusb")
        try file("\(device)/busnum", "1")
        try file("\(device)/devnum", "14")
        try file("\(device)/idVendor", "0a12")
        try file("\(device)/idProduct", "0001")
        let found = try USBDevice.find("hci0", sysfs: sysfs)
        #expect(found == USBDevice(bus: 1, number: 14, vendor: "0a12", product: "0001"))
        #expect(found.node == "/dev/bus/usb/001/014")
    }

    @Test func `a controller on a serial line is none, also behind USB`() throws {
        try plugIn("devices/usb1/1-1/1-1:1.0/serial0/serial0-0", bus: "serial", driver: "hci_uart_bcm")
        try file("devices/usb1/1-1/1-1:1.0/serial0/busnum", "1")
        try file("devices/usb1/1-1/1-1:1.0/serial0/devnum", "1")
        #expect(throws: USBDevice.OtherBus(name: "serial", device: "serial0-0", driver: "hci_uart_bcm")) {
            try USBDevice.find("hci0", sysfs: sysfs)
        }
    }

    @Test func `a virtual controller, and one that is not there, have no device at all`() throws {
        try folder("devices/virtual/bluetooth/hci0")
        try link("class/bluetooth/hci0", to: "../../devices/virtual/bluetooth/hci0")
        for name in ["hci0", "hci7"] {
            #expect(throws: USBDevice.OtherBus()) { try USBDevice.find(name, sysfs: sysfs) }
        }
    }

    @Test(arguments: ["", "0", "-1", "1000", "../1", "one"])
    func `a number that is none is no device's`(_ number: String) throws {
        try plugIn("devices/usb1/1-1/1-1:1.0", bus: "usb", driver: "btusb")
        try file("devices/usb1/1-1/busnum", "1")
        try file("devices/usb1/1-1/devnum", number)
        #expect(throws: USBDevice.OtherBus.self) { try USBDevice.find("hci0", sysfs: sysfs) }
    }
}
