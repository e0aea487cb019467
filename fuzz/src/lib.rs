//! Shared by the targets: counted memory, initial inputs, and an array's way through C.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, ArrayRef, ffi, make_array};

/// The memory that any input may take: receive buffers, scratch, the tables of types.
const BYTES_AT_REST: usize = 16 << 20;

/// The additional memory per byte of input: some values are larger than their wire format, and some
/// tests hold several copies of their results.
const BYTES_PER_BYTE: usize = 4 << 10;

struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    let taken = TAKEN.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(taken, Ordering::Relaxed);
}

fn gave_back(bytes: usize) {
    TAKEN.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: the system's allocator does all the work; this only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave_back(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        gave_back(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a test, and asserts that its memory is in proportion to its input: a claimed length alone
/// must take none.
pub fn within_bounds(data: &[u8], test: fn(&[u8])) {
    let before = TAKEN.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    test(data);
    let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let bound = BYTES_AT_REST + BYTES_PER_BYTE * data.len();
    assert!(taken <= bound, "{taken} bytes of memory for {} bytes of input", data.len());
}

/// An array as another library would receive and return it.
pub fn through_c(array: ArrayRef) -> ArrayRef {
    let (exported, schema) = ffi::to_ffi(&array.to_data()).expect("every array can be exported");
    // SAFETY: the library that reads both structures made them one line above.
    let imported = unsafe { ffi::from_ffi(exported, &schema) }.expect("its own export");
    make_array(imported)
}

/// Writes the initial inputs of a target into its folder below `FUZZ_CORPUS`, if that variable is
/// set: they are made from the crates' types and messages, and not kept.
pub fn begin_with(target: &str, seeds: &[Vec<u8>]) {
    let Some(corpus) = std::env::var_os("FUZZ_CORPUS") else { return };
    let folder = Path::new(&corpus).join(target);
    fs::create_dir_all(&folder).expect("a folder");
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed).expect("a file");
    }
}

/// Lets the assertions of arrow-rs fail without ending the run: the code under test contains them.
/// One that gets out of it still ends the run.
pub fn allow_arrow_to_panic() {
    let fatal = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/arrow-")) {
            fatal(panic);
        }
    }));
}
