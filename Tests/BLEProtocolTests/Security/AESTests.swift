import Testing

@testable import BLEProtocol

@Suite struct AES128Tests {
    @Test func `a block is encrypted as FIPS 197, appendix C, says`() {
        let cipher = AES128(key: WireText.octets("000102030405060708090a0b0c0d0e0f"))
        let block = WireText.octets("00112233445566778899aabbccddeeff")
        #expect(WireText.text(cipher.encrypt(block)) == "69c4e0d86a7b0430d8cdb78070b4c55a")
    }

    @Test func `the key expansion is that of FIPS 197, appendix B`() {
        let cipher = AES128(key: WireText.octets("2b7e151628aed2a6abf7158809cf4f3c"))
        let block = WireText.octets("3243f6a8885a308d313198a2e0370734")
        #expect(WireText.text(cipher.encrypt(block)) == "3925841d02dc09fbdc118597196a0b32")
    }
}

@Suite struct AESCMACTests {
    private static let key = WireText.octets("2b7e151628aed2a6abf7158809cf4f3c")
    private static let message = WireText.octets(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
            + "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
    )

    // RFC 4493, section 4: examples 1 to 4.
    @Test(arguments: [
        (0, "bb1d6929e95937287fa37d129b756746"),
        (16, "070a16b46b4d4144f79bdd9dd04a287c"),
        (40, "dfa66747de9ae63030ca32611497c827"),
        (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ])
    func `the examples of RFC 4493 come out`(count: Int, code: String) {
        let message = Array(Self.message.prefix(count))
        #expect(WireText.text(AESCMAC(key: Self.key).code(of: message)) == code)
    }

    @Test func `neither a cipher nor a code shows its key`() {
        for value in [AES128(key: Self.key), AESCMAC(key: Self.key)] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            let text = dumped + String(describing: value) + String(reflecting: value)
            #expect(!text.contains("43") && !text.contains("0x2b"), "\(text)")
        }
    }
}
