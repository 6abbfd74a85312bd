//! A graph as text for Graphviz.

use std::fmt::Write;

use crate::{
    driver::{Driver, GraphId, NodeId, Work},
    error::Result,
};

impl Driver {
    /// The graph in the language of `dot`, with the graphs that it is made of.
    pub fn graph_as_dot(&self, id: GraphId) -> Result<String> {
        let mut text = String::from("digraph dot {\n");
        self.write_graph(&mut text, id)?;
        text.push_str("}\n");
        Ok(text)
    }

    fn write_graph(&self, text: &mut String, id: GraphId) -> Result<()> {
        let number = self.graph_number(id)?;
        // Writing to a string does not fail.
        let _ = writeln!(text, "subgraph cluster_{number} {{\nlabel=\"graph_{number}\"");
        for node in self.graph_nodes(id)? {
            let label = self.label(node)?;
            let _ = writeln!(text, "\"node_{node}\" [label=\"{label}\"];");
            let parts = match self.node_work(node)? {
                Work::Child(part) => vec![part],
                Work::Conditional(conditional) => conditional.bodies,
                _ => Vec::new(),
            };
            for part in parts {
                self.write_graph(text, part)?;
            }
        }
        for (from, to) in self.graph_edges(id)? {
            let _ = writeln!(text, "\"node_{}\" -> \"node_{to}\";", from.node);
        }
        text.push_str("}\n");
        Ok(())
    }

    fn label(&self, node: NodeId) -> Result<String> {
        Ok(match self.node_work(node)? {
            Work::Kernel(launch) => {
                let name = self.function_name(launch.function).unwrap_or("unloaded");
                format!("KERNEL\\n{}", name.replace('"', "'"))
            }
            Work::Copy(copy) => {
                let bytes = copy.width * copy.height.max(1) * copy.depth.max(1);
                format!("MEMCPY\\n{bytes} bytes")
            }
            Work::Fill(fill) => format!("MEMSET\\n{:#x}", fill.target),
            Work::Host(_) => "HOST".to_owned(),
            Work::Child(_) => "GRAPH".to_owned(),
            Work::Empty => "EMPTY".to_owned(),
            Work::Wait(_) => "EVENT_WAIT".to_owned(),
            Work::Record(_) => "EVENT_RECORD".to_owned(),
            Work::Alloc(made) => format!("MEM_ALLOC\\n{:#x}\\n{} bytes", made.address, made.size),
            Work::Free(address) => format!("MEM_FREE\\n{address:#x}"),
            Work::Conditional(_) => "CONDITIONAL".to_owned(),
        })
    }
}
