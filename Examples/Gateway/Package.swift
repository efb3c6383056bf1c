// swift-tools-version: 6.2

import PackageDescription

// Carries what Bluetooth Low Energy sensors send to an MQTT 5 broker. This is a package of its own, so that BLEStreams
// needs neither libmosquitto nor Foundation.
var settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
if Context.environment["BLESTREAMS_STRICT"] != nil { settings.append(.treatAllWarnings(as: .error)) }

let package = Package(
    name: "Gateway",
    products: [
        .executable(name: "ble-gateway", targets: ["ble-gateway"])
    ],
    dependencies: [
        .package(name: "BLEStreams", path: "../..")
    ],
    targets: [
        // The gateway: sensors, a spool on disk, a broker.
        .systemLibrary(
            name: "CMosquitto",
            pkgConfig: "libmosquitto",
            providers: [.apt(["libmosquitto-dev", "pkg-config"])]
        ),
        .target(name: "MQTT", dependencies: ["CMosquitto"]),
        .target(name: "Spool"),
        .target(
            name: "Gateway",
            dependencies: [
                "Campaigns", "Leases", "MQTT", "Sparkplug", "Spool",
                .product(name: "BLEDevices", package: "BLEStreams"),
                .product(name: "BLERadio", package: "BLEStreams"),
                .product(name: "BLESimulator", package: "BLEStreams"),
                .product(name: "BLEStreams", package: "BLEStreams"),
            ]
        ),
        .executableTarget(name: "ble-gateway", dependencies: ["Gateway"]),
        // A mosquitto for tests.
        .target(name: "TestBroker", path: "Tests/TestBroker"),
        .testTarget(name: "SpoolTests", dependencies: ["Spool"]),
        .testTarget(name: "MQTTTests", dependencies: ["MQTT", "Spool", "TestBroker"]),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "ble-gateway", "Campaigns", "Gateway", "Leases", "MQTT", "Sparkplug", "Spool", "TestBroker",
                .product(name: "BLEDevices", package: "BLEStreams"),
                .product(name: "BLESimulator", package: "BLEStreams"),
                .product(name: "BLEStreams", package: "BLEStreams"),
            ]
        ),
        // What hosts that speak Sparkplug B expect of an edge node, as a machine, and its payloads.
        .target(name: "Sparkplug"),
        .testTarget(name: "SparkplugTests", dependencies: ["Sparkplug"]),

        // Which of many gateways holds a peripheral: the rules as a machine, and the worlds that test them. See
        // LEASES.md.
        .target(name: "Leases"),
        .target(name: "LeaseWorld", dependencies: ["Leases"]),
        .executableTarget(name: "LeaseSimulation", dependencies: ["Leases", "LeaseWorld"]),
        // An image for many devices: the rules as a machine, and a world that tests them. See CAMPAIGNS.md.
        .target(name: "Campaigns", dependencies: ["Leases"]),
        .target(name: "CampaignWorld", dependencies: ["Campaigns", "Leases"]),
        .testTarget(name: "CampaignsTests", dependencies: ["Campaigns", "CampaignWorld", "Leases"]),
        .testTarget(name: "LeasesTests", dependencies: ["Leases", "LeaseWorld"]),
    ]
)

for target in package.targets where target.type != .system { target.swiftSettings = settings }
