import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// What the machine says, word for word.
@Suite struct ConnectMachineTests {
    private typealias Output = ConnectMachine.Output

    private let address = BluetoothAddress(rawValue: 0xC0_DE00_0000_01, kind: .random)
    private let alias = BluetoothAddress(rawValue: 0xC0_DE00_0000_01, kind: .public)
    private let gone = ConnectMachine.Failure(
        pace: ConnectPace.Failure(
            BLEError(.adapterPoweredOff, operation: "connect", cause: "the adapter is off"),
            wasHeard: false,
            wasResumed: false
        ),
        isOfAdapter: true,
        reason: DisconnectReason(.adapterOff)
    )

    private static func waiter(_ id: Int, patience: ConnectMachine.Patience = .none) -> ConnectMachine.Waiter {
        ConnectMachine.Waiter(id: id, timeout: .seconds(30), deadline: .seconds(30), patience: patience)
    }

    private static func output(_ build: (inout Output) -> Void) -> Output {
        var output = Output()
        build(&output)
        return output
    }

    private static func begin(_ number: Int, _ step: ConnectMachine.Step) -> Output.Begin {
        Output.Begin(number: number, step: step)
    }

    /// A machine whose first waiter has come as far as the radio.
    private func connecting(patience: ConnectMachine.Patience = .none) -> ConnectMachine {
        var (machine, output) = (ConnectMachine([address]), Output())
        machine.join(Self.waiter(1, patience: patience), now: .zero, &output)
        machine.isDown(1, &output)
        machine.recalled(2, identities: [:], isBonded: false, hasLink: false, &output)
        machine.granted(3, &output)
        return machine
    }

    @Test func `the way to a link is six steps, and those who wait share it`() {
        var machine = ConnectMachine([address])
        #expect(
            Self.output { machine.join(Self.waiter(1), now: .zero, &$0) }
                == Self.output {
                    $0.tries = true
                    $0.alarm = .set(.seconds(30))
                    $0.begins = Self.begin(1, .waitUntilDown)
                }
        )
        #expect(
            Self.output { machine.isDown(1, &$0) }
                == Self.output {
                    $0.tells = .connecting
                    $0.begins = Self.begin(2, .recall)
                }
        )
        #expect(
            Self.output { machine.recalled(2, identities: [:], isBonded: true, hasLink: false, &$0) }
                == Self.output { $0.begins = Self.begin(3, .restoreKeys) }
        )
        #expect(
            Self.output { machine.keysRestored(3, hasKeys: true, &$0) }
                == Self.output { $0.begins = Self.begin(4, .lineUp) }
        )
        #expect(Self.output { machine.join(Self.waiter(2), now: .zero, &$0) } == Output())
        #expect(
            Self.output { machine.granted(4, &$0) }
                == Self.output { $0.begins = Self.begin(5, .connect(to: address, atMost: nil)) }
        )
        #expect(
            Self.output { _ = machine.connected(5, &$0) }
                == Self.output {
                    $0.leavesTurn = true
                    $0.begins = Self.begin(6, .settle(with: address))
                }
        )
        #expect(
            Self.output { machine.settled(6, &$0) }
                == Self.output {
                    $0.alarm = .cancel
                    $0.ends = true
                    $0.tells = .connected
                    $0.answers = [1, 2].map { Output.Answer(waiter: $0, outcome: .linked) }
                }
        )
        #expect(machine.isLinked && machine.users == 2)
        #expect(!machine.unshare() && machine.unshare(), "the last one drops the link")
    }

    @Test func `an alarm that rings just when the link is made leaves the link to those who share it`() {
        var (machine, output) = (connecting(), Output())
        _ = machine.connected(4, &output)
        machine.settled(5, &output)
        #expect(machine.isLinked)
        #expect(Self.output { machine.alarmRang(now: .seconds(30), &$0) } == Output())
        #expect(!machine.isOver)
    }

    @Test func `the last one that leaves takes back what the radio was asked`() {
        var machine = connecting()
        #expect(
            Self.output { machine.leave(1, &$0) }
                == Self.output {
                    $0.stops = true
                    $0.leavesTurn = true
                    $0.alarm = .cancel
                    $0.ends = false
                    $0.tells = .disconnected(nil)
                }
        )
        #expect(machine.isOver)
    }

    @Test func `the radio is asked anew in the same turn, and only while it makes the link`() {
        var (machine, output) = (connecting(), Output())
        #expect(
            Self.output { machine.requestAnew(&$0) }
                == Self.output {
                    $0.stops = true
                    $0.begins = Self.begin(5, .connect(to: address, atMost: nil))
                }
        )
        let isLate = !machine.connected(4, &output)
        let isWanted = machine.connected(5, &output)
        #expect(isLate && isWanted && output.leavesTurn)
        #expect(Self.output { machine.requestAnew(&$0) } == Output())
    }

    @Test func `an adapter that goes is waited for by those who said so, and the others are told`() {
        var machine = connecting(patience: .upTo(.seconds(600)))
        var output = Output()
        machine.join(Self.waiter(2), now: .zero, &output)
        #expect(
            Self.output { machine.failed(4, gone, random: 0, now: .seconds(1), &$0) }
                == Self.output {
                    $0.leavesTurn = true
                    $0.alarm = .set(.seconds(601))
                    $0.ends = false
                    $0.tells = .disconnected(DisconnectReason(.adapterOff))
                    $0.answers = [Output.Answer(waiter: 2, outcome: .failed)]
                    $0.begins = Self.begin(5, .waitForAdapter)
                }
        )
        // It has 30 seconds of its own once the adapter is back, and has had its rest.
        #expect(
            Self.output { machine.adapterReturned(5, now: .seconds(100), &$0) }
                == Self.output {
                    $0.stops = true
                    $0.alarm = .set(.milliseconds(130_250))
                    $0.begins = Self.begin(6, .rest(.milliseconds(250)))
                }
        )
    }

    @Test func `who comes while the adapter is away waits for it as long as it said`() {
        var machine = connecting(patience: .upTo(.seconds(600)))
        var output = Output()
        machine.failed(4, gone, random: 0, now: .seconds(1), &output)
        var late = Self.waiter(2, patience: .upTo(.seconds(60)))
        late.deadline = .seconds(35)
        #expect(
            Self.output { machine.join(late, now: .seconds(5), &$0) } == Self.output { $0.alarm = .set(.seconds(65)) }
        )
        #expect(
            Self.output { machine.alarmRang(now: .seconds(65), &$0) }
                == Self.output {
                    $0.answers = [Output.Answer(waiter: 2, outcome: .failed)]
                    $0.alarm = .set(.seconds(601))
                }
        )
    }

    @Test func `two kinds of an address take turns with the radio`() {
        var (machine, output) = (ConnectMachine([address, alias]), Output())
        machine.join(Self.waiter(1), now: .zero, &output)
        machine.isDown(1, &output)
        #expect(
            Self.output { machine.recalled(2, identities: [:], isBonded: false, hasLink: false, &$0) }
                == Self.output { $0.begins = Self.begin(3, .listen(for: [address, alias], atMost: .seconds(12))) }
        )
        machine.limitPassed(3, &output)
        #expect(
            Self.output { machine.granted(4, &$0) }
                == Self.output { $0.begins = Self.begin(5, .connect(to: address, atMost: .seconds(5))) }
        )
        #expect(
            Self.output { machine.limitPassed(5, &$0) }
                == Self.output {
                    $0.stops = true
                    $0.begins = Self.begin(6, .connect(to: alias, atMost: .seconds(5)))
                }
        )
        #expect(
            Self.output { machine.revoked(4, &$0) }
                == Self.output {
                    $0.stops = true
                    $0.leavesTurn = true
                    $0.begins = Self.begin(7, .lineUp)
                },
            "others have the radio first"
        )
    }

    @Test func `an attempt that ends amid a pause isn't told of its end, and goes on when the adapter is back`() {
        var (machine, output) = (connecting(patience: .withinLimit), Output())
        _ = machine.connected(4, &output)
        machine.pause(&output)
        machine.failed(5, gone, random: 0, now: .seconds(1), &output)
        #expect(machine.step == .waitForAdapter)
        // What is told late to one that has ended changes nothing.
        let before = machine
        #expect(Self.output { machine.pause(&$0) } == Output())
        #expect(machine == before)
        machine.adapterReturned(6, now: .seconds(2), &output)
        machine.limitPassed(7, &output)
        machine.isDown(8, &output)
        machine.recalled(9, identities: [:], isBonded: false, hasLink: false, &output)
        #expect(machine.step == .lineUp)
    }

    @Test func `behind a pause the keys of a bond are loaded again, whatever the pause has come to`() {
        func bonded(_ body: (inout ConnectMachine, inout Output) -> Void) -> ConnectMachine {
            var (machine, output) = (ConnectMachine([address]), Output())
            machine.join(Self.waiter(1), now: .zero, &output)
            machine.isDown(1, &output)
            machine.recalled(2, identities: [address: alias], isBonded: true, hasLink: false, &output)
            body(&machine, &output)
            return machine
        }
        var connecting = bonded { machine, output in
            machine.keysRestored(3, hasKeys: false, &output)
            #expect(machine.candidates == [alias, address])
            machine.granted(4, &output)
            machine.pause(&output)
        }
        #expect(
            Self.output { connecting.resume(&$0) } == Self.output { $0.begins = Self.begin(6, .restoreKeys) }
        )
        #expect(
            Self.output { connecting.keysRestored(6, hasKeys: false, &$0) }
                == Self.output { $0.begins = Self.begin(7, .lineUp) }
        )
        #expect(connecting.candidates == [alias, address])
        // What was loaded before the adapter was reset is lost with it.
        let loading = bonded { machine, output in
            machine.pause(&output)
            machine.keysRestored(3, hasKeys: true, &output)
            machine.resume(&output)
        }
        #expect(loading.step == .restoreKeys)
        let late = bonded { machine, output in
            machine.pause(&output)
            machine.resume(&output)
            machine.keysRestored(3, hasKeys: true, &output)
        }
        #expect(late.step == .restoreKeys)
    }
}
