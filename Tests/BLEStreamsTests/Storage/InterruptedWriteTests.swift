import BLEProtocol
import BLERadio
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// A program that changes a store is killed before each of its system calls, or each of them fails: there is the old
/// bond or the new one, whole, nobody else can read it, the bonds with others are there, and the next program writes as
/// if nothing had been.
@Suite(.timeLimit(.minutes(10)), .enabled(if: StoreChild.canFollow, "this system lets nobody follow a child"))
struct InterruptedWriteTests {
    private let peer = StoreChild.peer
    private let other = StoreChild.other

    @Test func `killed at any system call while it replaces a bond, the old one or the new one is there`() async throws
    {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer), .planted(9, with: other))
            var number: UInt8 = 1
            for call in 1... {
                let new: UInt8 = number == 1 ? 2 : 1
                let end = try child.run(new, killedBefore: call)
                let found = try child.number()
                #expect(found == number || found == new, "killed before system call \(call)")
                #expect(try child.number(of: other) == 9)
                try child.expectSecrecy("killed before system call \(call)")
                if end.hasEnded {
                    #expect(end.status == 0 && found == new && call > 10, "\(end.errors)")
                    break
                }
                await child.remember(.planted(3, with: peer))
                try child.expectNoLitter(peer, other, note: "after a kill before system call \(call)")
                number = 3
            }
        }
    }

    @Test func `killed at any system call while it keeps the first bond of all, nobody else can read it`() async throws
    {
        var call = 0
        var hasEnded = false
        while !hasEnded {
            call += 1
            try await StoreChild.with { child in
                let end = try child.run(2, killedBefore: call)
                let found = try child.number()
                #expect(found == 2 || found == nil)
                try child.expectSecrecy("killed before system call \(call)")
                hasEnded = end.hasEnded
                #expect(!hasEnded || end.status == 0 && found == 2, "\(end.errors)")
                await child.remember(.planted(3, with: peer))
                #expect(try child.number() == 3)
                try child.expectNoLitter(peer, note: "after a kill before system call \(call)")
            }
        }
    }

    @Test func `a bond that is removed leaves no key, also where a program was killed while it wrote one`() async throws
    {
        try await StoreChild.with { child in
            for call in 1... {
                await child.remember(.planted(1, with: peer), .planted(9, with: other))
                let end = try child.run(2, killedBefore: call)
                #expect(try child.run(nil).status == 0)
                #expect(try child.number() == nil)
                try child.expectNoLitter(other, note: "a program was killed before system call \(call)")
                if end.hasEnded { break }
            }
        }
    }

    @Test func `killed at any system call while it removes a bond, that one is there or gone, and no other`()
        async throws
    {
        try await StoreChild.with { child in
            for call in 1... {
                await child.remember(.planted(1, with: peer), .planted(9, with: other))
                let end = try child.run(nil, killedBefore: call)
                let found = try child.number()
                #expect(found == 1 || found == nil, "killed before system call \(call)")
                #expect(try child.number(of: other) == 9)
                guard end.hasEnded else { continue }
                #expect(end.status == 0 && found == nil, "\(end.errors)")
                break
            }
        }
    }

    @Test(arguments: [ENOSPC, EIO])
    func `whichever system call fails, there is the old bond or the new one, and a warning where it is the old one`(
        error: Int32
    ) async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer), .planted(9, with: other))
            var unsynced = 0
            for call in 1... {
                let end = try child.run(2, failing: call, with: error)
                let note: Comment = "call \(call), number \(end.failedCall ?? -1), failed; it said: \(end.errors)"
                #expect(end.hasEnded && end.status < 2, note)
                let found = try child.number()
                #expect(found == 2 || found == 1 && end.status == 1, note)
                #expect(end.status == 0 || end.errors.contains(child.folder), note)
                if found == 2, end.errors.contains("sync \(child.folder):") { unsynced += 1 }
                #expect(try child.number(of: other) == 9, note)
                try child.expectSecrecy(note)
                await child.remember(.planted(1, with: peer))
                #expect(try child.number() == 1, note)
                try child.expectNoLitter(peer, other, note: note)
                if end.failedCall == nil {
                    #expect(call > 8 && unsynced == 1)
                    break
                }
            }
        }
    }

    @Test func `a bond whose file is in place, in a folder that could not be synced, counts as not written`()
        async throws
    {
        try await StoreChild.with { child in
            let bond = Bond.planted(2, with: peer)
            await child.remember(bond)
            let store = PeerStore(folder: child.folder)
            let change = PendingChange(change: { $0.bonds = [BondRecord(bond)] }, worth: .bond)
            for (operation, count) in [("write", 0), ("sync", 1)] {
                let failure = BLEError.store(operation, child.folder, errno: EIO)
                #expect(store.kept(of: [change], of: peer, after: failure).count == count, "\(failure)")
            }
        }
    }

    @Test(arguments: [0, 1, 100, 300])
    func `a disk that is full after some octets leaves the old bond`(room: Int) async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(1, with: peer), .planted(9, with: other))
            let end = try child.run(2, largestFile: room)
            #expect(end.hasEnded && end.status == 1)
            #expect(end.errors.contains("the disk has room"), "\(end.errors)")
            #expect(try child.number() == 1 && child.number(of: other) == 9)
            try child.expectNoLitter(peer, other, note: "\(end.errors)")
        }
    }
}
