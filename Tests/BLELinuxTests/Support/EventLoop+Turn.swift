import Dispatch

@testable import BLELinux

extension EventLoop {
    /// Waits until the loop has done what it is at.
    func turn() async {
        await withCheckedContinuation { waiting in enqueue { waiting.resume() } }
    }

    /// Holds the loop's thread up, as that of a program that is stopped, until the returned closure is called.
    func holdUp() async -> @Sendable () -> Void {
        let isReleased = DispatchSemaphore(value: 0)
        await withCheckedContinuation { (held: CheckedContinuation<Void, Never>) in
            enqueue {
                held.resume()
                isReleased.wait()
            }
        }
        return { _ = isReleased.signal() }
    }
}
