import Testing

@testable import BLEStreams

@Suite struct LaneOrderTests {
    @Test func `operations share the link while nobody holds it`() {
        var order = LaneOrder()
        let (first, second) = (order.beginOperation(pass: nil), order.beginOperation(pass: nil))
        #expect(first.isGranted && second.isGranted)
        #expect(order.end(first.id) == [] && order.end(second.id) == [])
    }

    @Test func `a hold waits for what is under way, and what comes later waits for the hold`() {
        var order = LaneOrder()
        let before = order.beginOperation(pass: nil)
        let hold = order.beginHold()
        let after = order.beginOperation(pass: nil)
        #expect(!hold.isGranted && !after.isGranted)
        #expect(order.end(before.id) == [hold.id])
        #expect(order.isHeld(by: hold.id) && !order.isHeld(by: nil))
        #expect(order.end(hold.id) == [after.id])
    }

    @Test func `what the holder does passes, and the next one waits until it is done`() {
        var order = LaneOrder()
        let hold = order.beginHold()
        let inner = order.beginOperation(pass: hold.id)
        let outer = order.beginOperation(pass: nil)
        let next = order.beginHold()
        #expect(hold.isGranted && inner.isGranted && !outer.isGranted && !next.isGranted)
        #expect(order.end(hold.id) == [])
        // The holder has left, and cleans up: that passes still.
        #expect(order.beginOperation(pass: hold.id).isGranted)
        #expect(order.end(inner.id) == [])
        #expect(order.end(next.id + 1) == [outer.id])
        #expect(order.end(outer.id) == [next.id])
    }

    @Test func `what is over at once passes where an operation would, and a hold waits for it`() {
        var order = LaneOrder()
        #expect(order.beginInstant(pass: nil) && order.beginInstant(pass: nil))
        let hold = order.beginHold()
        #expect(!hold.isGranted && !order.beginInstant(pass: nil))
        #expect(order.endInstant() == [])
        #expect(order.endInstant() == [hold.id])
        #expect(!order.beginInstant(pass: nil) && order.beginInstant(pass: hold.id))
        #expect(order.end(hold.id) == [])
        let next = order.beginHold()
        #expect(order.endInstant() == [next.id])
    }

    @Test func `a pass whose hold is over counts as none`() {
        var order = LaneOrder()
        let first = order.beginHold()
        let second = order.beginHold()
        #expect(order.end(first.id) == [second.id])
        #expect(!order.beginOperation(pass: first.id).isGranted)
    }

    @Test func `who leaves while waiting lets the next ones in`() {
        var order = LaneOrder()
        let operation = order.beginOperation(pass: nil)
        let hold = order.beginHold()
        let waiting = order.beginOperation(pass: nil)
        #expect(order.end(hold.id) == [waiting.id])
        #expect(order.end(operation.id) == [] && order.end(waiting.id) == [])
        #expect(order.beginHold().isGranted)
    }

    @Test func `when the link is over everybody passes`() {
        var order = LaneOrder()
        let hold = order.beginHold()
        let waiting = order.beginOperation(pass: nil)
        #expect(order.open() == [waiting.id])
        #expect(!order.isHeld(by: hold.id))
        #expect(order.beginHold().isGranted && order.beginOperation(pass: nil).isGranted)
    }

    /// Whatever happens in whatever order: never two holders, never an operation of another beside a holder, and in
    /// the end everybody has had a turn.
    @Test(arguments: 0..<200) func `nobody is ever beside a holder, and nobody waits for ever`(seed: Int) {
        var chance = Chance(seed: UInt64(seed))
        var order = LaneOrder()
        var running: [LaneOrder.ID: LaneOrder.ID?] = [:]
        var holder: LaneOrder.ID?
        var kinds: [LaneOrder.ID: Bool] = [:]
        func admit(_ ids: [LaneOrder.ID]) {
            for id in ids {
                if kinds[id] == true {
                    #expect(holder == nil && running.isEmpty)
                    holder = id
                } else {
                    #expect(holder == nil)
                    running[id] = .some(nil)
                }
            }
        }
        var waiting: Set<LaneOrder.ID> = []
        for _ in 0..<300 {
            switch chance.below(5) {
            case 0:
                let hold = order.beginHold()
                kinds[hold.id] = true
                if hold.isGranted { admit([hold.id]) } else { waiting.insert(hold.id) }
            case 1:
                let operation = order.beginOperation(pass: nil)
                kinds[operation.id] = false
                if operation.isGranted { admit([operation.id]) } else { waiting.insert(operation.id) }
            case 2:
                guard let pass = holder else { continue }
                let operation = order.beginOperation(pass: pass)
                #expect(operation.isGranted)
                running[operation.id] = .some(pass)
            case 3:
                guard let id = running.keys.sorted().first else { continue }
                running[id] = nil
                let granted = order.end(id)
                waiting.subtract(granted)
                admit(granted)
            default:
                guard let id = holder, running.isEmpty else { continue }
                holder = nil
                let granted = order.end(id)
                waiting.subtract(granted)
                admit(granted)
            }
        }
        while let id = running.keys.sorted().first ?? holder {
            if running.removeValue(forKey: id) == nil { holder = nil }
            let granted = order.end(id)
            waiting.subtract(granted)
            admit(granted)
        }
        #expect(waiting.isEmpty)
    }
}
