package import FuzzTargets

/// libFuzzer's entry.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzTarget.scim.run(data, count)
}

/// The program's entry.
@_cdecl("FuzzSCIM_main")
package func start(_ count: CInt, _ arguments: ArgumentVector) -> CInt {
    FuzzDriver.run(count, arguments, fuzz)
}
