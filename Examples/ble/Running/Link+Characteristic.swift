import BLEStreams

extension Link {
    /// The notifications of a characteristic that was named on the command line; all are kept until they are printed.
    func notifications(of characteristic: CharacteristicName) -> BLEStream<CharacteristicValue> {
        switch characteristic {
        case .uuid(let uuid): notifications(of: uuid)
        case .handle(let handle): notifications(ofHandle: handle)
        }
    }
}
