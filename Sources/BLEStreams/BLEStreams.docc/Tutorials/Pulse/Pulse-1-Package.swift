// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Pulse",
    dependencies: [.package(path: "../BLEStreams")],
    targets: [
        .executableTarget(
            name: "Pulse",
            dependencies: [.product(name: "BLEDevices", package: "BLEStreams")]
        ),
        .testTarget(
            name: "PulseTests",
            dependencies: ["Pulse", .product(name: "BLESimulator", package: "BLEStreams")]
        ),
    ]
)
