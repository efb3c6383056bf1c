// swift-tools-version: 6.2

import PackageDescription

var settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
// For whoever changes the package; a newer compiler's new warning stops nobody who only uses it.
if Context.environment["BLESTREAMS_STRICT"] != nil { settings.append(.treatAllWarnings(as: .error)) }

// `BLESTREAMS_BACKEND=none` leaves the kernel's radio out, and with it libbluetooth: what stands above the seam to the
// radio builds and is tested without.
let hasKernelRadio = Context.environment["BLESTREAMS_BACKEND"] != "none"

// `Tests/Fuzzing/run` builds the entry points as a program for libFuzzer.
let isFuzzing = Context.environment["BLESTREAMS_FUZZING"] != nil

let commandDependencies: [Target.Dependency] = [
    "BLEDevices", "BLERadio", "BLEStreams", "BLESimulator", "CGetopt", "ConsoleOutput", "Interruption",
]

let package = Package(
    name: "BLEStreams",
    products: [
        .library(name: "BLEStreams", targets: ["BLEStreams"]),
        .library(name: "BLEDevices", targets: ["BLEDevices"]),
        .library(name: "BLESimulator", targets: ["BLESimulator"]),
        .library(name: "BLERadio", targets: ["BLERadio"]),
    ],
    targets: [
        // The library. Arrows point one way: see Tests/DocumentationTests/Modules.
        .target(name: "BLEProtocol"),
        .target(name: "BLERadio", dependencies: ["BLEProtocol", "CLibrary"]),
        .target(name: "BLESimulator", dependencies: ["BLEProtocol", "BLERadio", "CLibrary"]),
        .target(name: "BLEStreams", dependencies: ["BLEProtocol", "BLERadio", "CLibrary"]),
        .target(name: "BLEDevices", dependencies: ["BLEProtocol", "BLERadio", "BLEStreams", "CLibrary"]),
        .target(name: "CLibrary"),

        // Programs that use public API only. A fuzzer brings its own beginning.
        isFuzzing
            ? .target(name: "ble", dependencies: commandDependencies, path: "Examples/ble", exclude: ["BLE.swift"])
            : .executableTarget(name: "ble", dependencies: commandDependencies, path: "Examples/ble"),
        .systemLibrary(name: "CGetopt", path: "Examples/CGetopt"),
        .executableTarget(
            name: "Transfer",
            dependencies: ["BLEStreams", "BLESimulator", "ConsoleOutput", "Interruption"],
            path: "Examples/Transfer"
        ),
        .executableTarget(
            name: "Fleet",
            dependencies: ["BLEDevices", "BLEStreams", "BLESimulator", "ConsoleOutput", "Interruption"],
            path: "Examples/Fleet"
        ),
        .target(name: "ConsoleOutput", path: "Examples/ConsoleOutput"),
        .target(name: "Interruption", dependencies: ["BLEStreams"], path: "Examples/Interruption"),
        .executableTarget(
            name: "UpdateTiming",
            dependencies: ["BLEDevices", "BLEStreams", "BLESimulator", "ConsoleOutput"],
            path: "Examples/UpdateTiming"
        ),
        .executableTarget(
            name: "HeartRate",
            dependencies: ["BLEDevices", "BLEStreams", "BLESimulator", "ConsoleOutput", "Interruption"],
            path: "Examples/HeartRate"
        ),
        .executableTarget(
            name: "Sensor",
            dependencies: ["BLEStreams", "BLESimulator", "ConsoleOutput", "Interruption"],
            path: "Examples/Sensor"
        ),

        // Nine small programs in one executable: one module to compile and one program to link.
        .executableTarget(
            name: "Programs",
            dependencies: ["BLEDevices", "BLEStreams", "BLESimulator", "ConsoleOutput", "Interruption"],
            path: "Examples/Programs"
        ),

        // What any radio must do, as checks that run on all of them.
        .target(name: "RadioContract", dependencies: ["BLEProtocol", "BLERadio"], path: "Tests/RadioContract"),

        // Radios without air, for tests and benchmarks.
        .target(name: "RadioDoubles", dependencies: ["BLEProtocol", "BLERadio"], path: "Tests/RadioDoubles"),

        // A program that changes a store, and one that kills it, or fails its system calls, meanwhile.
        .executableTarget(
            name: "StoreWriter",
            dependencies: ["BLEProtocol", "BLERadio", "BLEStreams", "RadioDoubles"],
            path: "Tests/StoreWriter"
        ),
        .target(name: "TracedChild", path: "Tests/TracedChild"),

        // Whole worlds in virtual time, each drawn from a seed, and the program that runs thousands of them.
        .target(
            name: "SimulatedWorlds",
            dependencies: [
                "BLEDevices", "BLEProtocol", "BLERadio", "BLESimulator", "BLEStreams", "CLibrary", "HeapInUse",
            ],
            path: "Tests/Simulation/Worlds"
        ),
        .target(name: "HeapInUse", path: "Tests/Simulation/Heap"),
        .executableTarget(
            name: "Simulation",
            dependencies: ["CLibrary", "SimulatedWorlds"],
            path: "Tests/Simulation/Program"
        ),

        // A program that crashes with secrets in its hands.
        .executableTarget(
            name: "Crasher",
            dependencies: ["BLEProtocol", "BLERadio", "BLEStreams", "BLESimulator", "RadioDoubles"],
            path: "Tests/Crasher"
        ),

        // How many tests run at once, for all test targets: they are one executable.
        .target(name: "TestWidth", path: "Tests/TestWidth"),

        // The procedures that every fuzzer runs.
        .target(name: "FuzzedProcedures", dependencies: ["BLEProtocol"], path: "Tests/FuzzedProcedures"),

        // The entry points of the fuzzer: as tests they replay what it has kept.
        isFuzzing
            ? .executableTarget(
                name: "Fuzzer",
                dependencies: ["ble", "BLEDevices", "BLEProtocol", "BLERadio", "BLEStreams", "FuzzedProcedures"],
                path: "Tests/Fuzzing",
                exclude: ["Corpora", "Replay", "run"]
            )
            : .testTarget(
                name: "FuzzingTests",
                dependencies: ["ble", "BLEDevices", "BLEProtocol", "BLERadio", "BLEStreams", "FuzzedProcedures"],
                path: "Tests/Fuzzing",
                exclude: ["Corpora", "Driver", "run"]
            ),

        .testTarget(name: "BLEProtocolTests", dependencies: ["BLEProtocol", "FuzzedProcedures", "TestWidth"]),
        .testTarget(
            name: "BLESimulatorTests",
            dependencies: ["BLEProtocol", "BLERadio", "BLESimulator", "RadioContract"]
        ),
        .testTarget(
            name: "BLEStreamsTests",
            dependencies: [
                "BLEProtocol", "BLERadio", "BLEStreams", "BLEDevices", "BLESimulator", "RadioContract", "RadioDoubles",
                "StoreWriter", "TracedChild", "Crasher",
            ],
            exclude: ["Replay/Recordings"]
        ),
        .testTarget(
            name: "BLEDevicesTests",
            dependencies: [
                "BLEProtocol", "BLERadio", "BLEStreams", "BLEDevices", "BLESimulator", "BLEProtocolTests",
                "BLEStreamsTests",
            ]
        ),
        .testTarget(name: "SimulationTests", dependencies: ["BLESimulator", "BLEStreams", "SimulatedWorlds"]),
        .testTarget(
            name: "BLECommandTests",
            dependencies: [
                "ble", "BLEDevices", "BLERadio", "BLEStreams", "BLESimulator", "ConsoleOutput", "Interruption",
                "BLEStreamsTests", "RadioDoubles",
            ]
        ),
        // Needs what it compiles snippets against, and imports none of it.
        .testTarget(
            name: "DocumentationTests",
            dependencies: ["BLEStreams", "BLEDevices", "BLESimulator"],
            exclude: [
                "Surroundings", "Surface/BLEStreams.txt", "Surface/BLEDevices.txt", "Surface/BLESimulator.txt",
                "Surface/BLERadio.txt",
            ]
        ),
    ]
)

// The kernel's radio, and what is built on it alone.
let kernelTargets: [Target] = [
    // The C side: libbluetooth, and the kernel's macros as functions.
    .systemLibrary(name: "CBlueZ", pkgConfig: "bluez", providers: [.apt(["libbluetooth-dev", "pkg-config"])]),
    .target(name: "CBluetooth", dependencies: ["CBlueZ"]),
    .target(name: "BLELinux", dependencies: ["BLEProtocol", "BLERadio", "CBluetooth"]),
    .testTarget(
        name: "BLELinuxTests",
        dependencies: ["BLEProtocol", "BLERadio", "BLELinux", "BLEStreams", "RadioContract", "RadioDoubles"]
    ),

    // Compared with plain C loops in the same run.
    .target(name: "CBenchmarks", path: "Tests/Benchmarks/C"),
    .executableTarget(
        name: "Benchmarks",
        dependencies: [
            "BLEProtocol", "BLERadio", "BLELinux", "BLESimulator", "BLEStreams", "CBenchmarks", "RadioDoubles",
        ],
        path: "Tests/Benchmarks/Sources"
    ),
]

if hasKernelRadio { package.targets += kernelTargets }

// `Tests/Sanitizers/run thread --concurrent` builds only the tests that have threads of their own, and what they need.
if Context.environment["BLESTREAMS_TESTS"] == "concurrent" {
    let threaded = [
        "BLELinuxTests": ["EventLoop", "Support"],
        "BLESimulatorTests": ["Support", "Time"],
        "BLEStreamsTests": [
            "Concurrency", "Connecting/ConnectorStressTests.swift", "Connecting/SharedLinkStressTests.swift",
            "Joined/JoinedStateStressTests.swift", "Link/BearerStressTests.swift", "Link/SendingTurnTests.swift",
            "Queue/QueueStressTests.swift", "Queue/QueueThreadTests.swift", "Server/ClosureEndingTests.swift",
            "Server/PresentFirstTests.swift", "Storage/StoreThreadTests.swift", "Stream/InboxStressTests.swift",
            "Stream/IsolationTests.swift", "Stream/StressTests.swift", "Support",
        ],
    ]
    let needed = ["Crasher", "StoreWriter"] + threaded.keys
    let others = [
        "CBenchmarks", "ConsoleOutput", "FuzzedProcedures", "HeapInUse", "Interruption", "SimulatedWorlds",
    ]
    package.targets.removeAll { target in
        others.contains(target.name) || [.test, .executable].contains(target.type) && !needed.contains(target.name)
    }
    for target in package.targets where target.type == .test { target.sources = threaded[target.name] }
}

if hasKernelRadio {
    for target in package.targets where target.name == "BLEStreams" {
        target.dependencies.append(.target(name: "BLELinux", condition: .when(platforms: [.linux])))
    }
}

for target in package.targets where target.type != .system {
    target.swiftSettings = settings
    if hasKernelRadio && target.name == "BLEStreams" {
        target.swiftSettings?.append(.define("KERNEL_RADIO", .when(platforms: [.linux])))
    }
}
