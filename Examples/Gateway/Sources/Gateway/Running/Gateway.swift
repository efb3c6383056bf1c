public import BLEStreams
import MQTT
import Spool

/// Carries what sensors send to a broker.
///
/// ```swift
/// let (orders, control) = AsyncStream<Order>.makeStream()
/// let gateway = Gateway(try Configuration(file: "gateway.json"), orders: orders) { print($0) }
/// try await gateway.run()
/// ```
public struct Gateway: Sendable {
    private let configuration: Configuration
    private let orders: AsyncStream<Order>
    private let radio: (@Sendable () -> AdapterChoice)?
    private let report: @Sendable (String) -> Void

    /// Makes a gateway, which does nothing before it runs.
    ///
    /// - Parameters:
    ///   - configuration: what it does.
    ///   - orders: what it is told later.
    ///   - radio: makes the adapter to use in place of the configured ones.
    ///   - report: is told what a person should know, a line each.
    public init(
        _ configuration: Configuration,
        orders: AsyncStream<Order>,
        radio: (@Sendable () -> AdapterChoice)? = nil,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.orders = orders
        self.radio = radio
        self.report = report
    }

    /// Runs the gateway until it is told to stop.
    ///
    /// - Throws: an error of the spool's folder or of the adapter that prevents it from working at all.
    public func run() async throws {
        var (next, old): (Configuration?, Configuration?) = (configuration, nil)
        while let configuration = next {
            let run: GatewayRun
            do {
                run = try GatewayRun(configuration, adapter(for: configuration), report)
            } catch {
                // What only shows when it is used, such as a folder that can't be written.
                guard let last = old else { throw error }
                report("configuration: \(error) The old configuration stays in force.")
                (next, old) = (last, nil)
                continue
            }
            if old != nil { report("configuration: applied") }
            do {
                (next, old) = (try await run.run(orders), run.inForce)
            } catch let error as BLEError {
                throw error.ofGateway
            }
        }
    }

    private func adapter(for configuration: Configuration) -> AdapterChoice {
        if let radio { return radio() }
        let choices = configuration.adapters.map { AdapterChoice.adapter($0) }
        return choices.count > 1 ? .joined(choices) : choices.first ?? .default
    }
}

extension Configuration {
    /// What can't change while links are up: another one is applied by beginning again.
    func needsNewBeginning(after old: Configuration) -> Bool {
        prefix != old.prefix || spool != old.spool || adapters != old.adapters || metricsPort != old.metricsPort
            || homeAssistantPrefix != old.homeAssistantPrefix || leases != old.leases || campaigns != old.campaigns
            || sparkplug != old.sparkplug
            // What one broker's order has decided, another one doesn't know.
            || (leases != nil && broker != old.broker)
    }
}
