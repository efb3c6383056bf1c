import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization
import Testing

@testable import BLELinux

/// A reset from the order to the adapter that is back, with a system and an adapter that a test has made.
@Suite(.timeLimit(.minutes(10))) struct AdapterResetTests {
    /// An adapter that goes away and comes back as a test says.
    private final class Adapter: IdleRadio {
        private struct State {
            var info = AdapterInfo(name: "hci0", address: nil, state: .poweredOn)
            var observers = Observers<@Sendable (AdapterInfo) -> Void>()
            var switchings: [Bool] = []
            var refusals: [BLEError] = []
        }

        private let state = Mutex(State())
        let hands = HandTimeline()
        var timeline: any Timeline { hands }
        var adapterInfo: AdapterInfo { state.withLock { $0.info } }
        var switchings: [Bool] { state.withLock { $0.switchings } }
        var isWatched: Bool { state.withLock { !$0.observers.isEmpty } }

        func refuse(_ errors: [BLEError]) { state.withLock { $0.refusals = errors } }

        func become(_ now: AdapterInfo.State, _ name: String = "hci0") {
            let info = AdapterInfo(name: name, address: nil, state: now)
            let observers = state.withLock { state in
                state.info = info
                return state.observers.all
            }
            for observer in observers { observer(info) }
        }

        func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
            let (id, info) = state.withLock { ($0.observers.add(events), $0.info) }
            events(info)
            return RadioActivity { [self] in _ = state.withLock { $0.observers.remove(id) } }
        }

        func setPowered(
            _ isOn: Bool,
            result: @escaping @Sendable (Result<Void, BLEError>) -> Void
        ) -> RadioActivity {
            let (refusal, name) = state.withLock { state in
                state.switchings.append(isOn)
                return (state.refusals.isEmpty ? nil : state.refusals.removeFirst(), state.info.name)
            }
            if let refusal {
                result(.failure(refusal))
            } else {
                become(isOn ? .poweredOn : .poweredOff, name)
                result(.success(()))
            }
            return RadioActivity {}
        }
    }

    private static let dongle = USBDevice(bus: 1, number: 4, vendor: "0a12", product: "0001")

    /// A driver for which each reset waits until it goes on.
    private final class StuckDriver: Sendable {
        private let resets = Mutex<[@Sendable () -> Void]>([])

        var waiting: Int { resets.withLock { $0.count } }

        func add(_ reset: @escaping @Sendable () -> Void) { resets.withLock { $0.append(reset) } }

        func goOn() {
            let all = resets.withLock { resets in
                defer { resets = [] }
                return resets
            }
            for reset in all { reset() }
        }
    }

    private let adapter = Adapter()

    /// Runs a reset whose order is carried out by the closure; what came of it, `nil` while it goes on.
    private func reset(
        find: @escaping @Sendable (String) throws(USBDevice.OtherBus) -> USBDevice = { _ in dongle },
        noting note: @escaping @Sendable () -> LeftoverNote? = { nil },
        unless isOverruled: @escaping @Sendable () -> Bool = { false },
        through driver: StuckDriver? = nil,
        _ order: @escaping @Sendable (Adapter) throws(SystemError) -> Void
    ) -> @Sendable () -> Result<Void, BLEError>? {
        let outcome = Ending<Result<Void, BLEError>>()
        let system = AdapterReset.System(
            find: find,
            order: { [adapter] (_) throws(SystemError) in try order(adapter) },
            runApart: { body in if let driver { driver.add(body) } else { body() } }
        )
        AdapterReset(
            adapter,
            system: system,
            switchingOn: { [adapter] in _ = adapter.setPowered(true, result: $0) },
            noting: note,
            unless: isOverruled
        ) { outcome.end($0) }.begin()
        return { outcome.reason }
    }

    private func error(_ outcome: Result<Void, BLEError>?) -> BLEError? {
        if case .failure(let error)? = outcome { error } else { nil }
    }

    private func isGood(_ outcome: Result<Void, BLEError>?) -> Bool {
        if case .success? = outcome { true } else { false }
    }

    @Test(arguments: ["hci0", "hci1"])
    func `an adapter that was on comes back, under whichever name, and is switched on`(_ name: String) {
        let outcome = reset { $0.become(.absent) }
        #expect(outcome() == nil)
        adapter.become(.unknown, name)
        adapter.become(.poweredOff, name)
        #expect(isGood(outcome()) && adapter.adapterInfo.state == .poweredOn && adapter.adapterInfo.name == name)
        // Nothing is left behind.
        #expect(!adapter.isWatched && adapter.hands.delays.isEmpty)
    }

    @Test func `one that is away is noted, until it is on again`() throws {
        let plugged = try PluggedAdapter()
        let (facts, leftovers) = (plugged.facts, plugged.leftovers)
        func isHeld() -> Bool { leftovers.held(on: facts).contains { $0.kind == .off } }
        func isLeft() -> Bool { leftovers.left(on: facts).contains { $0.thing.kind == .off } }
        for comesBack in [true, false] {
            let note: @Sendable () -> LeftoverNote? = { leftovers.note(KernelThing(.off, 0, of: facts)) }
            let outcome = reset(noting: note) { $0.become(.absent) }
            #expect(isHeld() && outcome() == nil)
            if comesBack {
                adapter.become(.poweredOff)
                #expect(isGood(outcome()) && !isHeld() && !isLeft())
            } else {
                adapter.hands.fire(.seconds(20))
                #expect(error(outcome()) != nil && !isHeld() && isLeft())
            }
        }
    }

    @Test func `one that the program has switched off and that stays away is not noted for the next program`() throws {
        let plugged = try PluggedAdapter()
        let (facts, leftovers) = (plugged.facts, plugged.leftovers)
        let note: @Sendable () -> LeftoverNote? = { leftovers.note(KernelThing(.off, 0, of: facts)) }
        let isOverruled: @Sendable () -> Bool = { true }
        let outcome = reset(noting: note, unless: isOverruled) { $0.become(.absent) }
        adapter.hands.fire(.seconds(20))
        #expect(error(outcome())?.code == .adapterNotFound)
        #expect(leftovers.held(on: facts).isEmpty && leftovers.left(on: facts).isEmpty)
    }

    @Test func `one whose driver is stuck is given up, stays noted, and is not reset again before that has ended`()
        throws
    {
        let plugged = try PluggedAdapter()
        let (facts, leftovers) = (plugged.facts, plugged.leftovers)
        func isLeft() -> Bool { leftovers.left(on: facts).contains { $0.thing.kind == .off } }
        let note: @Sendable () -> LeftoverNote? = { leftovers.note(KernelThing(.off, 0, of: facts)) }
        // No other test's.
        let device = USBDevice(bus: 9, number: 9)
        let find: @Sendable (String) throws(USBDevice.OtherBus) -> USBDevice = { (_) throws(USBDevice.OtherBus) in
            device
        }
        let driver = StuckDriver()
        let first = reset(find: find, noting: note, through: driver) { _ in }
        #expect(first() == nil && adapter.hands.delays == [.seconds(60)])
        // While the machine is asleep, the driver does nothing.
        adapter.hands.pass(.seconds(3600))
        adapter.hands.fire(.seconds(60))
        #expect(first() == nil && adapter.hands.delays == [.seconds(60)])
        adapter.hands.pass(.seconds(60))
        adapter.hands.fire(.seconds(60))
        let error = error(first())
        #expect(error?.code == .timedOut && error?.cause.contains("/dev/bus/usb/009/009") == true)
        #expect(error?.remedy.contains("restart the machine") == true && isLeft())
        let second = reset(find: find, noting: note, through: driver) { _ in }
        #expect(self.error(second())?.code == .timedOut && driver.waiting == 1 && isLeft())
        driver.goOn()
        let third = reset(find: find, noting: note, through: driver) { _ in }
        #expect(third() == nil)
        driver.goOn()
        #expect(isGood(third()) && !isLeft())
        #expect(!adapter.isWatched && adapter.hands.delays.isEmpty)
    }

    @Test func `one that is back when the order returns was away all the same`() {
        let outcome = reset { adapter in
            adapter.become(.absent)
            adapter.become(.poweredOff)
        }
        #expect(isGood(outcome()) && adapter.switchings == [true, true])
    }

    @Test func `one that never comes back is said to be gone`() {
        let outcome = reset { $0.become(.absent) }
        // It has no time to come back while the machine is asleep.
        adapter.hands.pass(.seconds(3600))
        adapter.hands.fire(.seconds(20))
        #expect(outcome() == nil)
        adapter.hands.pass(.seconds(20))
        adapter.hands.fire(.seconds(20))
        let error = error(outcome())
        #expect(error?.code == .adapterNotFound && error?.cause.contains("did not come back") == true)
        #expect(!adapter.isWatched && adapter.hands.delays.isEmpty)
    }

    @Test(arguments: [SystemError.accessDenied, .notPermitted])
    func `without the right to do it the error names file and remedy`(_ refusal: SystemError) {
        let outcome = reset { (_) throws(SystemError) in throw refusal }
        let error = error(outcome())
        #expect(error?.code == .permissionDenied && error?.systemError == refusal.rawValue)
        #expect(error?.cause.contains("/dev/bus/usb/001/004") == true)
        #expect(error?.remedy.contains("ATTR{idVendor}==\"0a12\", ATTR{idProduct}==\"0001\"") == true)
        #expect(adapter.adapterInfo.state == .poweredOn)
    }

    @Test func `who may not switch on resets nothing`() {
        adapter.refuse([.missingCapability(.networkAdministration, operation: "switch on", object: "hci0")])
        let outcome = reset { _ in Issue.record("it was ordered") }
        #expect(error(outcome())?.code == .permissionDenied)
    }

    @Test func `one that takes no commands yet is told again`() {
        let outcome = reset { adapter in
            adapter.refuse([.adapterNotReady("hci0", operation: "switch on", object: "hci0")])
            adapter.become(.poweredOff)
        }
        #expect(outcome() == nil)
        adapter.hands.fire(.milliseconds(500))
        #expect(isGood(outcome()) && adapter.adapterInfo.state == .poweredOn)
    }

    @Test func `one that has gone again is awaited though a switch of the machine keeps another adapter away`() {
        let cut = RadioSwitches.Cut(name: "tpacpi_bluetooth_sw", block: .soft)
        let outcome = reset { adapter in
            adapter.refuse([.noAdapter(operation: "switch on", object: "hci0", cut: cut)])
            adapter.become(.poweredOff)
        }
        #expect(outcome() == nil)
        adapter.become(.absent)
        adapter.hands.fire(.milliseconds(500))
        #expect(outcome() == nil)
        adapter.become(.poweredOff)
        #expect(isGood(outcome()) && adapter.adapterInfo.state == .poweredOn)
    }

    @Test func `one that the program has switched off meanwhile is not told again`() {
        let wish = Ending<Void>()
        let isOverruled: @Sendable () -> Bool = { wish.hasEnded }
        let outcome = reset(unless: isOverruled) { adapter in
            adapter.refuse([.adapterNotReady("hci0", operation: "switch on", object: "hci0")])
            adapter.become(.poweredOff)
        }
        #expect(outcome() == nil)
        wish.end()
        adapter.hands.fire(.milliseconds(500))
        #expect(isGood(outcome()) && adapter.adapterInfo.state == .poweredOff)
        #expect(!adapter.isWatched && adapter.hands.delays.isEmpty)
    }

    @Test func `one that the kernel fails to switch on is told again, and one that stays off is said to be left off`() {
        let failure = BLEError(.systemFailure, operation: "switch on", object: "hci0", cause: "Failed")
        let outcome = reset { adapter in
            adapter.refuse([failure])
            adapter.become(.poweredOff)
        }
        #expect(outcome() == nil)
        adapter.hands.fire(.milliseconds(500))
        #expect(isGood(outcome()) && adapter.adapterInfo.state == .poweredOn)
        let other = reset { adapter in
            adapter.refuse([failure])
            adapter.become(.poweredOff)
        }
        adapter.hands.fire(.seconds(20))
        let error = error(other())
        #expect(error?.cause == "Failed; hci0 was to be off only for a moment, and is left off")
        #expect(error?.remedy.contains("Central.setPowered(true)") == true)
    }

    @Test func `a container without the device's file, and a device that refuses, say so`() {
        #expect(error(reset { (_) throws(SystemError) in throw .noEntry }())?.remedy.contains("docker") == true)
        let refused = error(reset { (_) throws(SystemError) in throw .busy }())
        #expect(refused?.code == .systemFailure && refused?.remedy.contains("Unplug") == true)
    }

    @Test(arguments: [
        (SystemError.tooManyOpenFiles, "LimitNOFILE"), (.noMemory, "Free some memory"), (.wouldBlock, "TasksMax"),
    ])
    func `one for whose reset something has run out need not be unplugged`(_ shortage: SystemError, _ remedy: String) {
        let outcome = reset { (_) throws(SystemError) in throw shortage }
        let error = error(outcome())
        #expect(error?.code == .systemFailure && error?.systemError == shortage.rawValue)
        #expect(error?.remedy.contains(remedy) == true && error?.remedy.contains("Unplug") == false)
    }

    @Test(
        arguments: [
            (USBDevice.OtherBus(), "virtual", "Restart the program"),
            (.init(name: "tty", device: "ttyAMA0"), "tty", "hciattach"),
            (
                .init(name: "serial", device: "serial0-0", driver: "hci_uart_bcm"), "serial",
                "echo serial0-0 | sudo tee /sys/bus/serial/drivers/hci_uart_bcm/unbind"
            ),
            (.init(name: "sdio"), "sdio", "modprobe"),
        ]
    )
    func `a controller that is no USB device has nothing to reset`(
        _ bus: USBDevice.OtherBus,
        _ cause: String,
        _ remedy: String
    ) {
        let find: @Sendable (String) throws(USBDevice.OtherBus) -> USBDevice = { (_) throws(USBDevice.OtherBus) in
            throw bus
        }
        let outcome = reset(find: find) { _ in Issue.record("it was ordered") }
        let error = error(outcome())
        #expect(error?.code == .notSupported && error?.cause.contains("only USB devices can be reset") == true)
        #expect(error?.cause.contains(cause) == true && error?.remedy.contains(remedy) == true)
    }
}
