// Changes a store, for tests that kill it meanwhile, or keep the disk from it: `StoreWriter FOLDER PEER N` keeps a bond
// whose keys are made of N, `StoreWriter FOLDER PEER` removes it. The status is 1 where there was a warning.

import BLEProtocol
import BLERadio
import BLEStreams
import Glibc
import RadioDoubles
import Synchronization

let words = CommandLine.arguments
guard words.count > 2, let peer = BluetoothAddress(words[2]) else { exit(2) }
let warnings = Atomic(0)
let store = PeerStore(folder: words[1]) { error in
    PeerStore.printWarning(error)
    warnings.add(1, ordering: .relaxed)
}
// From here on it is watched.
kill(getpid(), SIGWINCH)
if words.count > 3, let number = UInt8(words[3]) {
    store.remember(.planted(number, with: peer))
} else {
    store.forgetBonds(with: peer)
}
await store.flush()
exit(warnings.load(ordering: .relaxed) == 0 ? 0 : 1)
