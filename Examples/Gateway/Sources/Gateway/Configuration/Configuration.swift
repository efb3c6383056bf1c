public import BLEStreams
public import Leases

/// What a gateway does, as one file says it.
public struct Configuration: Hashable, Sendable {
    /// The most entries of a list.
    static let listLimit = 1000

    /// The broker.
    public struct Broker: Hashable, Sendable {
        public var host = "localhost"
        public var port = 1883
        public var clientID = "ble-gateway"
        public var user: String?
        public var password: String?
        public var inFlight = 64
        public var keepAlive = 30
        public var authorities: String?
        public var certificate: String?
        public var key: String?
    }

    /// A characteristic whose values are published.
    public struct Subscription: Hashable, Sendable {
        public var characteristic: BluetoothUUID
        public var service: BluetoothUUID?
    }

    /// A peripheral that is followed.
    public struct Peripheral: Hashable, Sendable {
        /// Its name in topics and commands.
        public var label: String
        public var address: String?
        public var name: String?
        public var subscriptions: [Subscription] = []
        /// How to pair with it; `nil`: a bond that somebody has made is used, and none is made.
        public var pairing: Pairing?
    }

    /// The advertisements that are published.
    public struct Advertisements: Hashable, Sendable {
        /// For how long the same advertisement is not published again, in seconds.
        public var window = 60.0
        /// Only those of these services; none: all.
        public var services: [BluetoothUUID] = []
    }

    /// Where values wait for the broker.
    public struct SpoolFolder: Hashable, Sendable {
        public var folder: String
        public var megabytes = 64
        public var recordsPerSync = 256
    }

    /// What commands may do.
    public struct Permission: Hashable, Sendable {
        public var peripheral: String
        public var operations: [String]
        public var characteristics: [BluetoothUUID]
    }

    /// How the gateways of a broker share the peripherals.
    public struct Sharing: Hashable, Sendable {
        /// The identifier of this gateway; `nil`: one that it draws and keeps beside the spool.
        public var gateway: GatewayID?
        /// What the topics of the leases begin with; the same for all gateways.
        public var prefix = "blestreams"
        /// The times and bounds; the same for all gateways.
        public var terms: LeaseTerms

        /// The default terms, with 2 s to end a link.
        public init() {
            terms = LeaseTerms()
            terms.parting = 2000
        }
    }

    /// How this gateway takes part in update campaigns.
    public struct Campaigns: Hashable, Sendable {
        /// The folder with the images.
        public var images: String
        /// How many devices it updates at once.
        public var concurrent = 2
        /// After how long a device is tried again, the first time; and how often to look for an image that isn't there.
        public var pause = Duration.seconds(30)

        /// Takes part, with the images of this folder.
        public init(images: String) { self.images = images }
    }

    /// How hosts that speak Sparkplug B see this gateway.
    public struct Sparkplug: Hashable, Sendable {
        /// The group.
        public var group: String
        /// The name of the edge node.
        public var node: String
        /// The host without which nothing is sent.
        public var primaryHost: String?
    }

    public var broker = Broker()
    public var prefix = "ble"
    public var adapters: [String] = []
    public var peripherals: [Peripheral] = []
    public var advertisements: Advertisements?
    public var spool: SpoolFolder
    /// The port of the page for Prometheus, on 127.0.0.1.
    public var metricsPort: Int?
    /// The prefix of Home Assistant's discovery.
    public var homeAssistantPrefix: String?
    /// Whether values are published for Sparkplug hosts, too.
    public var sparkplug: Sparkplug?
    public var permissions: [Permission] = []
    /// The folder with the firmware images that commands may bring to peripherals.
    public var images: String?
    /// Whether and how peripherals are shared with other gateways; `nil`: this gateway holds all of its own.
    public var leases: Sharing?
    /// Whether and how this gateway takes part in update campaigns; only with leases.
    public var campaigns: Campaigns?
    /// What was wrong with the file, but no reason to refuse it.
    public var cautions: [ConfigurationError] = []
}
