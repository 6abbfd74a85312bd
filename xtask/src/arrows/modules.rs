//! The modules of one crate as its sources declare them, and which file a path in them leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A path as it is written, such as `crate::driver::Pool`.
type Written = Vec<String>;

/// What each file uses: files, and the paths by which it does.
pub(super) type Uses = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

/// How many imports a name may be followed through: more than any real one needs.
const MOST_IMPORTS: usize = 16;

#[derive(Default)]
struct Module {
    file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Written>,
    /// Names that this module shows to others: showing one is not using it.
    shown: BTreeSet<String>,
    globs: Vec<Written>,
    written: Vec<Written>,
}

/// Where a path leads.
#[derive(Clone, Copy)]
enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

pub(super) struct Modules(Vec<Module>);

impl Modules {
    /// Of the crate whose root file this is. What only tests see is passed over.
    pub(super) fn of(root: &Path) -> Result<Self> {
        let mut modules = Self(Vec::new());
        let folder = root.parent().context("the root file lies in no folder")?;
        modules.add_file(None, root, folder)?;
        Ok(modules)
    }

    /// The files that each file uses, with the names that it uses of them.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (number, module) in self.0.iter().enumerate() {
            let used = uses.entry(module.file.clone()).or_default();
            let own = module.imports.iter().filter(|(name, _)| !module.shown.contains(*name));
            let paths = own.map(|(_, path)| path).chain(&module.written);
            for path in paths {
                // A module that is only named is not used; what is used of it has a path of its own.
                if let Some(Target::Item(owner)) = self.resolve(number, path, 0) {
                    let names = used.entry(self.0[owner].file.clone()).or_default();
                    names.insert(path.join("::"));
                }
            }
            used.remove(&module.file);
        }
        uses
    }

    fn add_file(&mut self, parent: Option<usize>, file: &Path, folder: &Path) -> Result<usize> {
        let text = fs::read_to_string(file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let parsed = syn::parse_file(&text)
            .with_context(|| format!("{} is not understood", file.display()))?;
        self.add(parent, file, folder, &parsed.items)
    }

    fn add(
        &mut self,
        parent: Option<usize>,
        file: &Path,
        folder: &Path,
        items: &[Item],
    ) -> Result<usize> {
        let number = self.0.len();
        self.0.push(Module { file: file.to_owned(), parent, ..Module::default() });
        for item in items.iter().filter(|item| !for_tests(attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let inside = folder.join(&name);
                    let child = match &module.content {
                        Some((_, items)) => self.add(Some(number), file, &inside, items)?,
                        None => {
                            let child = file_of(&inside, path_attribute(&module.attrs), file);
                            self.add_file(Some(number), &child, &inside)?
                        }
                    };
                    self.0[number].children.insert(name, child);
                }
                Item::Use(import) => {
                    let mut imported = Module::default();
                    imported.import(&import.tree, &mut Vec::new());
                    if !matches!(import.vis, Visibility::Inherited) {
                        imported.shown = imported.imports.keys().cloned().collect();
                    }
                    self.0[number].extend(imported);
                }
                item => {
                    self.0[number].items.extend(name_of(item));
                    Paths(&mut self.0[number].written).visit_item(item);
                }
            }
        }
        Ok(number)
    }

    fn resolve(&self, from: usize, path: &[String], imports: usize) -> Option<Target> {
        let mut here = from;
        for (position, segment) in path.iter().enumerate() {
            let module = &self.0[here];
            here = match segment.as_str() {
                "crate" => 0,
                "self" => here,
                "super" => module.parent?,
                name => match module.children.get(name) {
                    Some(child) => *child,
                    None if module.items.contains(name) => return Some(Target::Item(here)),
                    None => match self.imported(here, name, imports)? {
                        Target::Module(module) => module,
                        item @ Target::Item(_) => return Some(item),
                    },
                },
            };
            if position + 1 == path.len() {
                return Some(Target::Module(here));
            }
        }
        None
    }

    fn imported(&self, module: usize, name: &str, imports: usize) -> Option<Target> {
        if imports == MOST_IMPORTS {
            return None;
        }
        let here = &self.0[module];
        if let Some(path) = here.imports.get(name) {
            // `use name::…` of another crate leads nowhere in this one.
            let other_crate = path.first().is_some_and(|first| first == name);
            return if other_crate { None } else { self.resolve(module, path, imports + 1) };
        }
        here.globs.iter().find_map(|glob| {
            let Target::Module(owner) = self.resolve(module, glob, imports + 1)? else {
                return None;
            };
            if owner == module {
                return None;
            }
            self.resolve(owner, &[name.to_owned()], imports + 1)
        })
    }
}

impl Module {
    fn extend(&mut self, imported: Self) {
        self.imports.extend(imported.imports);
        self.shown.extend(imported.shown);
        self.globs.extend(imported.globs);
        self.written.extend(imported.written);
    }

    fn import(&mut self, tree: &UseTree, path: &mut Written) {
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.import(&step.tree, path);
                path.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, path));
            }
            UseTree::Name(name) => self.import_as(&name.ident.to_string(), None, path),
            UseTree::Rename(rename) => {
                self.import_as(&rename.ident.to_string(), Some(rename.rename.to_string()), path);
            }
            UseTree::Glob(_) => self.globs.push(path.clone()),
        }
    }

    fn import_as(&mut self, name: &str, alias: Option<String>, path: &[String]) {
        let mut whole = path.to_vec();
        if name != "self" {
            whole.push(name.to_owned());
        }
        let known_as = alias.or_else(|| whole.last().cloned()).unwrap_or_default();
        // An unnamed trait import still uses the trait.
        if known_as == "_" {
            self.written.push(whole);
        } else {
            self.imports.insert(known_as, whole);
        }
    }
}

/// Every path that code writes down.
struct Paths<'a>(&'a mut Vec<Written>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    /// What a macro is given is not parsed yet: its paths are found among the tokens.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        in_tokens(call.tokens.clone(), self.0);
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        let mut inside = Module::default();
        inside.import(&import.tree, &mut Vec::new());
        self.0.extend(inside.imports.into_values().chain(inside.written));
    }
}

fn in_tokens(tokens: TokenStream, found: &mut Vec<Written>) {
    let mut path = Written::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if colons != 2 {
                    found.push(std::mem::take(&mut path));
                }
                path.push(name.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                found.push(std::mem::take(&mut path));
                in_tokens(group.stream(), found);
                colons = 0;
            }
            _ => {
                found.push(std::mem::take(&mut path));
                colons = 0;
            }
        }
    }
    found.push(path);
    found.retain(|path| !path.is_empty());
}

fn file_of(inside: &Path, path: Option<String>, declared_in: &Path) -> PathBuf {
    if let Some(path) = path {
        return declared_in.with_file_name(path);
    }
    let folder = inside.join("mod.rs");
    if folder.exists() { folder } else { inside.with_extension("rs") }
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(literal) = &pair.value else { return None };
        let syn::Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    })
}

fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args_with(|input: syn::parse::ParseStream<'_>| input.parse::<TokenStream>())
                .is_ok_and(|condition| {
                    condition.into_iter().any(|token| token.to_string() == "test")
                })
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        Item::Const(item) => item.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        _ => return None,
    })
}
