// swift-tools-version: 6.2

import PackageDescription

// Connects BLEStreams with the packages that Swift servers use. This is a package of its own, so that BLEStreams needs
// none of them: copy the file that you want.
let package = Package(
    name: "Integrations",
    products: [.library(name: "Integrations", targets: ["Integrations"])],
    dependencies: [
        .package(name: "BLEStreams", path: "../.."),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.2.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    ],
    targets: [
        .target(
            name: "Integrations",
            dependencies: [
                .product(name: "BLEStreams", package: "BLEStreams"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        )
    ]
)
