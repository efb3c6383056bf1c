import Foundation
import Testing

/// Arrows between modules point one way.
@Suite struct ModuleArrowsTests {
    /// What a module of the package may import of the package.
    private static let arrows: [String: Set<String>] = [
        "BLEProtocol": [],
        "CLibrary": [],
        "BLERadio": ["BLEProtocol", "CLibrary"],
        "BLESimulator": ["BLEProtocol", "BLERadio", "CLibrary"],
        "BLELinux": ["BLEProtocol", "BLERadio", "CBluetooth"],
        "BLEStreams": ["BLEProtocol", "BLERadio", "CLibrary", "BLELinux"],
        "BLEDevices": ["BLEProtocol", "BLERadio", "BLEStreams", "CLibrary"],
    ]

    /// What a module that isn't in the table may import: it is another radio, which knows the seam and what is below.
    private static let arrowsOfAnotherRadio: Set<String> = ["BLEProtocol", "BLERadio", "CLibrary"]

    private static let modules =
        (try? FileManager.default.contentsOfDirectory(atPath: Package.folder.appending(path: "Sources").path)) ?? []

    /// Everything that has a C library in it.
    private static let cLibraries: Set<String> = ["Glibc", "Musl", "Darwin"]

    @Test(arguments: modules.sorted())
    func `a module imports only what stands below it`(_ module: String) throws {
        let ownModules = Set(Self.modules).union(["RadioDoubles"])
        let allowed = Self.arrows[module] ?? Self.arrowsOfAnotherRadio
        for line in try ImportLine.all(below: "Sources/\(module)") where ownModules.contains(line.module) {
            #expect(allowed.contains(line.module), "\(line.file) imports \(line.module)")
        }
    }

    @Test func `each module of the table is there`() {
        #expect(Set(Self.arrows.keys).isSubset(of: Self.modules))
    }

    @Test func `one file above the seam names the kernel's radio, behind its condition`() throws {
        let lines = try ImportLine.all(below: "Sources").filter { $0.module == "BLELinux" }
        #expect(lines.map(\.file) == ["Sources/BLEStreams/Central/MachineRadio.swift"])
        #expect(lines.map(\.condition) == ["KERNEL_RADIO"])
    }

    @Test func `only the kernel's radio names a C library`() throws {
        let folders = [
            "Sources", "Tests/BLEProtocolTests", "Tests/BLESimulatorTests", "Tests/BLEStreamsTests",
            "Tests/BLEDevicesTests",
        ]
        let lines = try folders.flatMap { try ImportLine.all(below: $0) }.filter { Self.cLibraries.contains($0.module) }
        let files = Set(lines.map(\.file)).filter { !$0.hasPrefix("Sources/BLELinux/") }
        #expect(files == ["Sources/CLibrary/CLibrary.swift"])
    }

    /// What stands beside the essentials brings ICU: 40 MB into a static program, and time into each start.
    @Test(arguments: ["Sources", "Examples/ble"])
    func `only the essentials of Foundation are used`(folder: String) throws {
        let lines = try ImportLine.all(below: folder).filter { $0.module.hasPrefix("Foundation") }
        let others = lines.filter { $0.module != "FoundationEssentials" }
        #expect(!lines.isEmpty && others.isEmpty, "\(others.map(\.file))")
    }

    @Test func `an import is found behind its attributes, access level and condition`() {
        let text = """
            // import Nothing
            #if KERNEL_RADIO
            @testable import BLELinux
            #endif
            @_exported public import BLERadio
            internal import struct Foundation.Data
            struct Other {}
            """
        let lines = ImportLine.all(in: text, of: "Some.swift")
        #expect(lines.map(\.module) == ["BLELinux", "BLERadio", "Foundation"])
        #expect(lines.map(\.condition) == ["KERNEL_RADIO", nil, nil])
    }
}
